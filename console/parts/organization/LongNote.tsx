import type { List } from '../../live/readAll.ts'

/** Says that a long list is not read again by itself, with a button that reads it. Nothing for a short one. */
export const LongNote = ({ list, onRead }: { readonly list: List<unknown>; readonly onRead: () => void }) =>
  list.isLong && (
    <p class="muted small">
      This list is long, so it is read again only after an action.{' '}
      <button type="button" onClick={onRead}>
        Read it again
      </button>
    </p>
  )
