import { useEffect, useRef } from 'preact/hooks'
import { toPath } from '#console/state/route.ts'
import { bulk, closeBulk } from '../../live/bulk.ts'
import { place } from '../../live/location.ts'
import { closeOpened, opened } from './opened.ts'
import { PlanView } from './PlanView.tsx'
import { titleId } from './parts.tsx'
import { RunView } from './RunView.tsx'
import { isAllDone } from './words.ts'
import './bulk.css'

/** The dialog of an action on many worlds: first what it will do, then its progress, then its result. */
export const BulkDialog = () => {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  // A link in the dialog leads to a page behind it, as the history of the browser does.
  const path = toPath({ ...place.value, sort: '', columns: '' })
  const from = useRef(path)
  useEffect(() => {
    if (from.current !== path) dialog.current?.close()
  }, [path])
  return (
    <dialog ref={dialog} class="bulk-dialog" aria-labelledby={titleId} onClose={onClose}>
      <Content />
    </dialog>
  )
}

const onClose = (): void => {
  closeOpened()
  const { value } = bulk
  // A result without a failure is not needed again.
  if (value !== undefined && isAllDone(value)) closeBulk()
  // The browser returns the focus to the button that opened the dialog, unless that is gone.
  if (document.activeElement === document.body) document.querySelector<HTMLElement>('#main')?.focus()
}

const Content = () => {
  const shown = opened.value
  const current = bulk.value
  if (shown !== undefined && shown !== 'progress') return <PlanView key={shown.id} draft={shown} />
  return current === undefined ? null : <RunView current={current} />
}
