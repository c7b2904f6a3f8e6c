import { accessSync, constants } from 'node:fs'

/** The path of the first of these programs that this machine has; one that is given as a path is looked for there. */
export const findProgram = (env: NodeJS.ProcessEnv, ...files: string[]): string | undefined => {
  const folders = [...(env.PATH ?? '').split(':'), '/usr/sbin', '/sbin']
  return files
    .flatMap((file) => (file.startsWith('/') ? [file] : folders.map((folder) => `${folder}/${file}`)))
    .find(isExecutable)
}

/** The browser of the tests, or undefined. */
export const findChromium = (env: NodeJS.ProcessEnv): string | undefined =>
  findProgram(
    env,
    ...['chromium', 'chromium-browser', 'google-chrome'],
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  )

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
