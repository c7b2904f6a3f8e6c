import { type Tab, tabs } from '#console/state/route.ts'
import { goTo } from '../../live/location.ts'

const names: Readonly<Record<Tab, string>> = {
  now: 'Now',
  runs: 'Runs',
  logs: 'Logs',
  events: 'Events',
  settings: 'Settings',
  history: 'History',
}
const steps: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1 }

/** Returns the tab to which a key leads, or undefined for other keys. The arrows go around. */
const tabAfter = (present: Tab, key: string): Tab | undefined => {
  if (key === 'Home') return tabs[0]
  if (key === 'End') return tabs.at(-1)
  const step = steps[key]
  return step === undefined ? undefined : tabs[(tabs.indexOf(present) + step + tabs.length) % tabs.length]
}

/** The id of the element that shows a tab's content. */
export const panelId = 'world-panel'
/** Returns the id of a tab's button. */
export const tabId = (tab: Tab): string => `world-tab-${tab}`

/** The tabs of a world's page. One of them is in the tab order; the arrow keys go to the others. */
export const Tabs = ({ present }: { readonly present: Tab }) => (
  <div role="tablist" aria-label="Parts of the world" class="tabs">
    {tabs.map((tab) => (
      <button
        key={tab}
        type="button"
        role="tab"
        id={tabId(tab)}
        aria-selected={tab === present}
        aria-controls={panelId}
        tabIndex={tab === present ? 0 : -1}
        data-name={names[tab]}
        onClick={() => goTo({ tab, run: '' })}
        onKeyDown={(event) => {
          const { ctrlKey, metaKey, altKey, shiftKey } = event
          const next = tabAfter(present, event.key)
          // With them, a key belongs to the browser: Alt and an arrow go back.
          if (next === undefined || ctrlKey || metaKey || altKey || shiftKey) return
          event.preventDefault()
          goTo({ tab: next, run: '' }, { isReplaced: true })
          document.getElementById(tabId(next))?.focus()
        }}
      >
        {names[tab]}
      </button>
    ))}
  </div>
)
