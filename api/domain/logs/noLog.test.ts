import { expect, test } from 'vitest'
import { explainNoLog } from './noLog.ts'

test.each(['Stopped', 'Expired', 'Superseded'] as const)(
  'a run that ended as %s says that its server was stopped',
  (end) => {
    expect(explainNoLog(end)).toContain('its server was stopped')
  },
)

test.each(['Completed', 'RestartBudget', 'StartDeadline', null] as const)(
  'a run that ended as %s is not told that its log would be kept',
  (end) => {
    expect(explainNoLog(end)).toContain('its node did not send the log in time')
    expect(explainNoLog(end)).not.toContain('stopped')
  },
)
