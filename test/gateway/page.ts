// The module of the page of a game. The test calls `play`.

/** Enters a world, says the text, and returns the first two messages of the server. */
const play = (url: string, text: string): Promise<object[]> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(url)
    const heard: object[] = []
    socket.onmessage = ({ data }) => {
      heard.push(JSON.parse(data))
      if (heard.length === 1) return socket.send(text)
      socket.close()
      resolve(heard)
    }
    socket.onclose = ({ code }) => reject(new Error(`the WebSocket was closed with ${code}`))
  })

Object.assign(globalThis, { play })
