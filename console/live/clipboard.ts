/**
 * Copies a text. Resolves to false if the browser refuses. Pages that did not come over HTTPS or from this machine have no clipboard, so
 * there a selection is copied.
 */
export const copyText = async (text: string): Promise<boolean> => {
  try {
    if (navigator.clipboard !== undefined) {
      await navigator.clipboard.writeText(text)
      return true
    }
  } catch {
    // The older way may still be allowed.
  }
  const area = document.createElement('textarea')
  area.value = text
  area.readOnly = true
  area.className = 'off-screen'
  const focused = document.activeElement
  // Everything outside a modal dialog is inert, so nothing there can be selected.
  const parent = document.querySelector('dialog[open]') ?? document.body
  parent.append(area)
  area.select()
  const isCopied = document.execCommand('copy')
  area.remove()
  if (focused instanceof HTMLElement) focused.focus()
  return isCopied
}
