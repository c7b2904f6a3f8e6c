import { findProgram } from './programs.ts'

/**
 * Returns the command in a form that gets `signal` as soon as the process that starts it has ended, even by SIGKILL. The pid stays
 * that of the command. Without `setpriv` (util-linux on Linux), or without the program, the command is returned as it is.
 */
export const endsWithThisProcess = (
  command: string,
  args: readonly string[],
  signal = 'SIGTERM',
): { command: string; args: string[] } => {
  const setpriv = process.platform === 'linux' ? findProgram(process.env, 'setpriv') : undefined
  const program = findProgram(process.env, command)
  if (setpriv === undefined || program === undefined) return { command, args: [...args] }
  return { command: setpriv, args: ['--pdeathsig', signal.replace('SIG', ''), program, ...args] }
}
