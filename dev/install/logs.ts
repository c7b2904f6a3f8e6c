import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Machine, namespace } from './machine.ts'

/** A quota that has not counted a new definition yet refuses it for some seconds, which the API retries. */
const isExpected = (line: string): boolean => line.includes('status unknown for quota')
const isRefusal = (line: string): boolean => /forbidden|"code":403/i.test(line) && !isExpected(line)

/** Collects the logs of both processes, since those of a replaced pod are gone. */
export const createLogs = ({ kubectl, logDir }: Machine) => {
  const refusals: string[] = []
  return {
    /** Reads the logs of the pods that run now. A pod whose migration fails has no log of the API. */
    collect: async (): Promise<void> => {
      for (const process of ['api', 'operator']) {
        const running = ['-l', `app.kubernetes.io/name=orrery-${process}`, '--field-selector', 'status.phase=Running']
        const pods = await kubectl('get', 'pods', '-n', namespace, ...running, '-o', 'name')
        for (const pod of pods.split('\n').filter(Boolean)) {
          const log = await kubectl('logs', '-n', namespace, pod, '--tail=-1', '--prefix')
          appendFileSync(join(logDir, `pods-${process}.log`), log)
          refusals.push(...log.split('\n').filter(isRefusal))
        }
      }
    },
    /** Returns the lines in which the API server refused something for lack of rights. */
    refusals: (): readonly string[] => refusals,
  }
}
