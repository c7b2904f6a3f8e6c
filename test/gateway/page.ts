// The module of the page of a game. The test calls `enter` and `say`, and reads `heard`.
const heard: { event: string }[] = []
let socket: WebSocket

/** Enters a world. Resolves with its first message. Leaves when the server asks for it. */
const enter = (url: string): Promise<void> =>
  new Promise((resolve, reject) => {
    heard.length = 0
    socket = new WebSocket(url)
    socket.onmessage = ({ data }) => {
      const message = JSON.parse(data)
      heard.push(message)
      if (message.event === 'closing') socket.close()
      resolve()
    }
    socket.onclose = ({ code }) => reject(new Error(`the WebSocket was closed with ${code}`))
  })

const say = (text: string): void => socket.send(text)

Object.assign(globalThis, { enter, say, heard })
