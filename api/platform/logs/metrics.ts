import { Counter, Gauge, type Registry } from 'prom-client'
import type { LogSlots } from './slots.ts'
import { type LogResult, logResults } from './source.ts'

/** Registers the counter of opened logs. Returns the function that counts a result. */
export const countLogResults = (registry: Registry): ((result: LogResult) => void) => {
  const opened = new Counter({
    name: 'orrery_logs_opened_total',
    help: 'Logs that were requested from the operator, by result.',
    labelNames: ['result'],
    registers: [registry],
  })
  for (const result of logResults) opened.inc({ result }, 0)
  return (result) => opened.inc({ result })
}

/** Registers the gauge of the logs that this replica reads. */
export const observeLogSlots = (registry: Registry, slots: LogSlots): void => {
  new Gauge({
    name: 'orrery_logs_open',
    help: 'Logs that are being read for clients.',
    registers: [registry],
    collect() {
      this.set(slots.readers().length)
    },
  })
}
