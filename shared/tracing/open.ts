import type { Log } from '#shared/log.ts'
import type { TracingSettings } from './settings.ts'
import { noTracing, type Tracing } from './tracing.ts'

/** Opens the export of traces. OpenTelemetry is loaded only if there are settings. */
export const openTracing = async (settings: TracingSettings | undefined, log: Log): Promise<Tracing> => {
  if (settings === undefined) return noTracing
  const { startOpenTelemetry } = await import('./openTelemetry.ts')
  return startOpenTelemetry(settings, log)
}
