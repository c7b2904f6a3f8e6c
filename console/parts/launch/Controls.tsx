import { fromNowOn, type Since, toSince, windows } from '#console/state/launch/since.ts'
import { toVisible } from '#console/state/visible.ts'
import { launch } from '../../live/launch.ts'
import { goTo, hrefOf, place } from '../../live/location.ts'
import { names } from '../../live/names.ts'
import { filter, scoped } from '../../live/order.ts'
import { session } from '../../live/session.ts'
import { Said, writeTime } from '../pieces.tsx'

/** Says when the runs that count were requested, such as `in the last hour`. */
export const windowText = ({ value }: Pick<Since, 'value'>): string => {
  const found = windows.find(({ name }) => name === value)
  if (found === undefined) return `since ${writeTime(value)}`
  return found.name === 'all' ? 'at any time' : `in the ${found.label.toLowerCase()}`
}

/** The filter and the time from which on runs count. */
export const Controls = () => {
  const since = launch.value?.since
  if (since === undefined) return null
  const isWindow = windows.some(({ name }) => name === since.value)
  return (
    <search class="search">
      <label for="launch-filter">Filter</label>
      <input
        id="launch-filter"
        type="search"
        value={place.value.filter}
        placeholder="Name, id, label, map… or label:team=events"
        spellcheck={false}
        autocomplete="off"
        onInput={({ currentTarget }) => goTo({ filter: currentTarget.value }, { isReplaced: true })}
      />
      <label for="launch-since">Requested</label>
      <select
        id="launch-since"
        value={since.value}
        onChange={({ currentTarget }) => goTo({ since: toSince(currentTarget.value) })}
      >
        {windows.map(({ name, label }) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
        {!isWindow && <option value={since.value}>Since {writeTime(since.value)}</option>}
      </select>
      <button type="button" onClick={() => goTo({ since: fromNowOn(scoped.peek().values(), Date.now()) })}>
        From now on
      </button>
      <ProjectNote />
      {[since.fault, ...filter.value.faults.map(({ message }) => message)]
        .filter((message) => message !== '')
        .map((message) => (
          <p key={message} class="notice">
            {toVisible(message)}
          </p>
        ))}
    </search>
  )
}

/** Says which project is shown, if it is one of several. */
const ProjectNote = () => {
  const { projectId } = place.value
  if (projectId === '' || session.value?.projectId === projectId) return null
  const name = names.value.projects.find((each) => each.projectId === projectId)?.name ?? projectId
  return (
    <span>
      In the project <Said text={name} />. <a href={hrefOf({ projectId: '' })}>Show all projects</a>
    </span>
  )
}
