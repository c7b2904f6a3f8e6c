import { operations } from '#client/operations.ts'
import { type AuditFilter, doorNames, fromFieldTime, toFieldTime } from '#console/state/audit.ts'
import { goTo } from '../../live/location.ts'
import { zone } from '../pieces.tsx'

/** The operations that a record can name. Records of kubectl and commands have some others. */
const actions = Object.entries(operations).flatMap(([id, { method }]) => (method === 'GET' ? [] : [id]))

const noFilter: AuditFilter = { since: '', until: '', door: '', actor: '', action: '', resource: '' }

/** The form of the filters. They are in the URL, and apply when the form is sent. */
export const AuditFilters = ({ filter }: { readonly filter: AuditFilter }) => {
  const isSet = Object.values(filter).some((each) => each !== '')
  return (
    <form
      class="audit-filters"
      aria-label="Filters"
      onSubmit={(event) => {
        event.preventDefault()
        const fields = new FormData(event.currentTarget)
        const text = (name: keyof AuditFilter): string => String(fields.get(name) ?? '').trim()
        goTo({
          since: fromFieldTime(text('since'), filter.since),
          until: fromFieldTime(text('until'), filter.until),
          door: text('door'),
          actor: text('actor'),
          action: text('action'),
          resource: text('resource'),
        })
      }}
    >
      <TimeField name="since" label="From" filter={filter} />
      <TimeField name="until" label="Until" filter={filter} />
      <label>
        Through
        <select name="door" value={filter.door}>
          <option value="">Any</option>
          {Object.entries(doorNames).map(([door, name]) => (
            <option key={door} value={door}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <TextField name="actor" label="Who (id)" filter={filter} />
      <TextField name="action" label="Action" filter={filter} list="audit-actions" />
      <TextField name="resource" label="Resource (id)" filter={filter} />
      <datalist id="audit-actions">
        {actions.map((id) => (
          <option key={id} value={id} />
        ))}
      </datalist>
      <div class="buttons">
        <button type="submit" class="primary">
          Show
        </button>
        {/* It stays when nothing is set, because it has the focus then. */}
        <button type="button" aria-disabled={!isSet} onClick={() => isSet && goTo(noFilter)}>
          Clear the filters
        </button>
      </div>
    </form>
  )
}

type FieldProps = { readonly name: keyof AuditFilter; readonly label: string; readonly filter: AuditFilter }

const TimeField = ({ name, label, filter }: FieldProps) => (
  <label>
    <span>
      {label} <span class="muted small">({zone})</span>
    </span>
    <input type="datetime-local" step={1} name={name} value={toFieldTime(filter[name])} />
  </label>
)

const TextField = ({ name, label, filter, list }: FieldProps & { readonly list?: string }) => (
  <label>
    {label}
    <input name={name} value={filter[name]} list={list} maxLength={256} spellcheck={false} autocomplete="off" />
  </label>
)
