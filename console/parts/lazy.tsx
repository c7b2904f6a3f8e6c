import { signal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'

/** Returns a component whose module is loaded when it is drawn first, so that the first page of the console loads less. */
export const lazy = <Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> => {
  const loaded = signal<{ readonly Part: ComponentType<Props> } | undefined>(undefined)
  const hasFailed = signal(false)
  const start = async (): Promise<void> => {
    if (loaded.peek() !== undefined) return
    hasFailed.value = false
    try {
      loaded.value = { Part: await load() }
    } catch {
      hasFailed.value = true
    }
  }
  return (props) => {
    useEffect(() => void start(), [])
    if (loaded.value !== undefined) return <loaded.value.Part {...props} />
    return hasFailed.value ? <NotLoaded onRetry={() => void start()} /> : <p class="muted">Loading…</p>
  }
}

const NotLoaded = ({ onRetry }: { readonly onRetry: () => void }) => (
  <div role="alert" class="notice error-state">
    <p>
      <strong>This part of the console could not be loaded.</strong> The API cannot be reached, or it was updated since
      this page was opened. Try again. If that does not help, reload the page, which may ask you to sign in again.
    </p>
    <div class="buttons">
      <button type="button" onClick={onRetry}>
        Try again
      </button>
      <button type="button" onClick={() => location.reload()}>
        Reload
      </button>
    </div>
  </div>
)
