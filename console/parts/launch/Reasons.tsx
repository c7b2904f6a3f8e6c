import { runsFilter } from '#console/state/launch/links.ts'
import { withoutNote } from '#console/state/launch/words.ts'
import { quote } from '#console/state/words.ts'
import { launch } from '../../live/launch.ts'
import { hrefOf, place } from '../../live/location.ts'
import { ReasonGroups } from '../ReasonGroups.tsx'

/** The reasons why runs wait or need attention, with links to their worlds. */
export const Reasons = () => {
  const { reasons, since } = launch.value ?? {}
  if (reasons === undefined || since === undefined) return null
  return (
    <ReasonGroups
      label="Reasons"
      noun="run"
      groups={reasons.map((group) => ({ ...group, message: withoutNote(group.message) }))}
      max={8}
      wrap={(reason, look, text) => (
        <a
          key={reason}
          class={`launch-reason ${look}`}
          href={hrefOf({ page: 'fleet', filter: runsFilter(`reason:${quote(reason)}`, since, place.value.filter) })}
        >
          {text}
        </a>
      )}
    />
  )
}
