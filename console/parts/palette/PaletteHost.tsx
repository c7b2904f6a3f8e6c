import { signal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { lazy } from '../lazy.tsx'
import { useEnd } from '../useEnd.ts'

const Palette = lazy(async () => (await import('./Palette.tsx')).Palette)

/** The number of the present opening. 0 while the palette is closed. */
const opening = signal(0)
let openings = 0
const open = (): void => {
  openings += 1
  opening.value = openings
}
const forget = (): void => {
  opening.value = 0
}

const isApple = /^(Mac|iP)/.test(navigator.platform)

/** Reports whether a press of keys is Ctrl-K, or Cmd-K on Apple's, also on a keyboard without Latin letters. */
const isShortcut = ({ key, code, ctrlKey, metaKey, altKey, shiftKey, isComposing }: KeyboardEvent): boolean => {
  if (metaKey !== isApple || ctrlKey === isApple || altKey || shiftKey || isComposing) return false
  return key.toLowerCase() === 'k' || (code === 'KeyK' && !/^[a-z]$/i.test(key))
}

/** The palette, which Ctrl-K and Cmd-K open and close. Its module is loaded when it is opened first. */
export const PaletteHost = () => {
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      const dialog = document.querySelector<HTMLDialogElement>('dialog[open]')
      // Behind another dialog everything is inert.
      const isOther = dialog !== null && dialog.id !== dialogId
      if (event.defaultPrevented || isOther || !isShortcut(event)) return
      event.preventDefault()
      if (event.repeat) return
      if (dialog === null) open()
      else dialog.close()
    }
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  }, [])
  useEnd(forget)
  return opening.value === 0 ? null : <Dialog key={opening.value} number={opening.value} />
}

const dialogId = 'palette'

/** Opens before its content is loaded, so that no key reaches the page behind it. */
const Dialog = ({ number }: { readonly number: number }) => {
  const dialog = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} id={dialogId} class="palette" aria-label="Go to" onClose={() => onClose(number)}>
      <Palette close={() => dialog.current?.close()} />
    </dialog>
  )
}

/** The browser reports the end of an opening later, when the next one may have begun. */
const onClose = (number: number): void => {
  if (opening.peek() !== number) return
  forget()
  // The browser returns the focus to where it was, unless that is gone.
  if (document.activeElement === document.body) document.querySelector<HTMLElement>('#main')?.focus()
}

/** The button that opens the palette, for the header. */
export const PaletteButton = () => (
  <button type="button" aria-haspopup="dialog" aria-keyshortcuts={isApple ? 'Meta+K' : 'Control+K'} onClick={open}>
    Go to… <kbd class="muted">{isApple ? '⌘K' : 'Ctrl K'}</kbd>
  </button>
)
