import { plainSettings, runtimeSettings } from '#shared/domain/world.ts'
import { withDefined } from '#shared/optional.ts'
import type { CapturedRun, World } from '#shared/resources/world.ts'

/** Returns the state and run of a World, as columns and as a part of a spec. */
export const runOf = ({ spec, status }: Pick<World, 'spec' | 'status'>) => {
  const { state, runId, startedAt, granted, compute } = spec
  const captured = [granted, status?.run].find((run) => run !== undefined && run.id === runId)
  return {
    columns: {
      state,
      runId: runId ?? null,
      startedAt: startedAt === undefined ? null : new Date(startedAt),
      granted: captured === undefined ? null : toCaptured({ compute, ...captured }),
    },
    spec: withDefined({ state, runId, startedAt }),
  }
}

/** Returns the part of a run that the API fixed at its start. A run of an operator alone has it in its status. */
const toCaptured = (run: CapturedRun): CapturedRun => {
  const { id, startedAt, image, contentId, profile, capacity, probes, args, strategy, ports, compute } = run
  const settings = { ...runtimeSettings.parse(run), ...plainSettings.parse(run) }
  const program = withDefined({ image, contentId })
  return { id, startedAt, profile, ...settings, capacity, probes, args, strategy, ports, compute, ...program }
}
