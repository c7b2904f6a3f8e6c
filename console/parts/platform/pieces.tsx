import type { ComponentChildren } from 'preact'
import { alias, type Remedy } from '#console/state/platform/commands.ts'
import { toVisible } from '#console/state/visible.ts'
import type { Loader } from '../../live/loader.ts'
import { goTo, place } from '../../live/location.ts'
import { Age, CopyButton, Loaded, Time } from '../pieces.tsx'
import type { Read } from './useReading.ts'

/** A part of a page that was read, with the time of the reading and a button that reads it again. */
export const Reading = <T,>({
  reading: { slot, load },
  what,
  children,
}: {
  readonly reading: Pick<Loader<Read<T>>, 'slot' | 'load'>
  readonly what: string
  readonly children: (value: T) => ComponentChildren
}) => (
  <Loaded slot={slot.value} what={what} onRetry={load}>
    {({ value, atMs }) => (
      <>
        {children(value)}
        <p class="muted small">
          Read at <Time at={new Date(atMs).toISOString()} isTimeAlone />, <Age at={new Date(atMs).toISOString()} /> ago.{' '}
          <button type="button" aria-busy={slot.value.isLoading} onClick={load}>
            Read again
          </button>
        </p>
      </>
    )}
  </Loaded>
)

/** The field of the filter in the URL. `result` says what it has found. */
export const FilterField = ({ placeholder, result }: { readonly placeholder: string; readonly result: string }) => (
  <search class="search">
    <label for="platform-filter">Filter</label>
    <input
      id="platform-filter"
      type="search"
      value={place.value.filter}
      placeholder={placeholder}
      spellcheck={false}
      onInput={({ currentTarget }) => goTo({ filter: currentTarget.value }, { isReplaced: true })}
    />
    <span role="status" class="muted">
      {result}
    </span>
  </search>
)

/** A command, with a button that copies it. `name` says in the name of the button what it does. */
export const Command = ({ text, name }: { readonly text: string; readonly name: string }) => (
  <span class="command-line">
    <code>{toVisible(text)}</code> <CopyButton text={text} name={name} />
  </span>
)

/** Commands with what they do. `of` says in the names of their buttons what they act on. */
export const Remedies = ({ remedies, of }: { readonly remedies: readonly Remedy[]; readonly of: string }) => (
  <ul class="remedies">
    {remedies.map(({ title, text }) => (
      <li key={text}>
        {toVisible(title)}
        <Command text={text} name={`the command for ${of}: ${toVisible(title)}`} />
      </li>
    ))}
  </ul>
)

/** Says how the commands of the page are run. */
export const CommandNote = () => (
  <p class="muted small">
    The commands run in the container of the API: <Command text={alias} name="the alias for orrery" /> In a checkout
    they are <code>npm run sync --</code> and <code>npm run doctor --</code>.
  </p>
)
