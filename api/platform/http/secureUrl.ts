/** Reports whether a text is the URL of an https server. */
export const isSecureUrl = (text: string): boolean => URL.parse(text)?.protocol === 'https:'

/** Reports whether a text is the URL of an http server on the loopback interface. */
export const isLoopbackUrl = (text: string): boolean => {
  const url = URL.parse(text)
  return url?.protocol === 'http:' && isLoopbackHost(url)
}

/** Reports whether the host of a URL is the loopback interface. */
export const isLoopbackHost = ({ hostname }: Pick<URL, 'hostname'>): boolean =>
  /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
