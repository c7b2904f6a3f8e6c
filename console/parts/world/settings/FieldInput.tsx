import { useState } from 'preact/hooks'
import type { Field } from '#console/state/settings/fields.ts'
import {
  type BuildText,
  type QueryText,
  readBuild,
  readQuery,
  writeBuild,
  writeQuery,
} from '#console/state/settings/forms.ts'

/** The id of the input of a setting, which its label names. */
export const inputId = (id: string): string => `setting-${id}`

type Props = {
  readonly field: Field
  readonly text: string
  readonly isInvalid: boolean
  /** The ids of the elements that describe the input. */
  readonly describedBy: string
  readonly onText: (text: string) => void
}

/** The input of a setting. */
export const FieldInput = ({ field: { id, kind, choices = [] }, text, isInvalid, describedBy, onText }: Props) => {
  const common = {
    id: inputId(id),
    'aria-invalid': isInvalid,
    'aria-describedby': describedBy === '' ? undefined : describedBy,
  }
  if (kind === 'build') return <BuildInput common={common} text={text} onText={onText} />
  if (kind === 'query') return <QueryInput common={common} protocols={choices} text={text} onText={onText} />
  if (kind === 'flag') {
    return (
      <input
        {...common}
        type="checkbox"
        checked={text === 'true'}
        onChange={(event) => onText(String(event.currentTarget.checked))}
      />
    )
  }
  if (kind === 'choice') {
    return (
      <select {...common} value={text} onChange={(event) => onText(event.currentTarget.value)}>
        <Options values={choices} chosen={text} />
      </select>
    )
  }
  const typed = {
    ...common,
    dir: 'auto',
    autocomplete: 'off',
    spellcheck: false,
    value: text,
    onInput: (event: { readonly currentTarget: { readonly value: string } }) => onText(event.currentTarget.value),
  } as const
  if (kind === 'timeZone') return <TimeZoneInput {...typed} />
  if (kind === 'text' || kind === 'number' || kind === 'cron') {
    return <input {...typed} type="text" inputMode={kind === 'number' ? 'decimal' : 'text'} />
  }
  const rows = Math.min(12, text.split('\n').length + 1)
  return <textarea {...typed} rows={rows} class={kind === 'long' ? '' : 'is-code'} />
}

/** A text with the time zones that the browser knows as suggestions. */
const TimeZoneInput = (typed: { readonly id: string }) => {
  const [zones] = useState(() => [...new Set(['UTC', ...Intl.supportedValuesOf('timeZone')])])
  const listId = `${typed.id}-list`
  return (
    <>
      <input {...typed} type="text" list={listId} />
      <datalist id={listId}>
        {zones.map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
    </>
  )
}

/** The options of a choice, with the chosen value if a newer API has it. */
const Options = ({ values, chosen }: { readonly values: readonly string[]; readonly chosen: string }) => (
  <>
    {(values.includes(chosen) ? values : [chosen, ...values]).map((each) => (
      <option key={each} value={each}>
        {each || 'None'}
      </option>
    ))}
  </>
)

const buildParts = { channelId: 'Channel', tag: 'Tag', contentId: 'Content' } as const

/** The parts of a build: a channel and a tag, or a content. The label of the setting leads to the first one. */
const BuildInput = ({
  common,
  text,
  onText,
}: {
  readonly common: { readonly id: string }
  readonly text: string
  readonly onText: (text: string) => void
}) => {
  const build = readBuild(text)
  return (
    <span class="input-parts">
      {(Object.keys(buildParts) as (keyof BuildText)[]).map((part, index) => (
        <label key={part}>
          <span class="muted small">{buildParts[part]}</span>
          <input
            {...common}
            id={index === 0 ? common.id : `${common.id}-${part}`}
            type="text"
            aria-label={`Build: ${buildParts[part].toLowerCase()}`}
            dir="auto"
            autocomplete="off"
            spellcheck={false}
            value={build[part]}
            onInput={(event) => onText(writeBuild({ ...build, [part]: event.currentTarget.value }))}
          />
        </label>
      ))}
    </span>
  )
}

const queryParts = { port: 'Port', timeoutSeconds: 'Timeout in seconds' } as const

/** The parts of a query. The label of the setting leads to the protocol, without which there are no others. */
const QueryInput = ({
  common,
  protocols,
  text,
  onText,
}: {
  readonly common: { readonly id: string }
  readonly protocols: readonly string[]
  readonly text: string
  readonly onText: (text: string) => void
}) => {
  const query = readQuery(text)
  const edit = (part: keyof QueryText, value: string) => onText(writeQuery({ ...query, [part]: value }))
  return (
    <span class="input-parts">
      <label>
        <span class="muted small">Protocol</span>
        <select
          {...common}
          aria-label="Query: protocol"
          value={query.protocol}
          onChange={(event) => edit('protocol', event.currentTarget.value)}
        >
          <Options values={['', ...protocols]} chosen={query.protocol} />
        </select>
      </label>
      {query.protocol !== '' &&
        (Object.keys(queryParts) as (keyof typeof queryParts)[]).map((part) => (
          <label key={part}>
            <span class="muted small">{queryParts[part]}</span>
            <input
              {...common}
              id={`${common.id}-${part}`}
              type="text"
              inputMode="numeric"
              aria-label={`Query: ${queryParts[part].toLowerCase()}`}
              autocomplete="off"
              value={query[part]}
              onInput={(event) => edit(part, event.currentTarget.value)}
            />
          </label>
        ))}
    </span>
  )
}
