import type { ComponentChildren } from 'preact'
import { formatCount } from '#console/state/format.ts'
import './records.css'

/** The items that a cell shows at once. */
const maxShown = 4

/** A list in a cell of a table, which shows the rest of a long one on demand. */
export const Several = ({ items }: { readonly items: readonly ComponentChildren[] }) => {
  const rest = items.slice(maxShown)
  if (items.length === 0) return null
  return (
    <>
      <List items={items.slice(0, maxShown)} />
      {rest.length > 0 && (
        <details>
          <summary>{formatCount(rest.length)} more</summary>
          <List items={rest} />
        </details>
      )}
    </>
  )
}

const List = ({ items }: { readonly items: readonly ComponentChildren[] }) => (
  <ul class="several">
    {items.map((item, index) => (
      <li key={index}>{item}</li>
    ))}
  </ul>
)
