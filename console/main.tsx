import { render } from 'preact'
import { startFleet } from './live/fleet.ts'
import { startNavigation } from './live/location.ts'
import { startNames } from './live/names.ts'
import { App } from './parts/App.tsx'
import './style.css'

const root = document.querySelector('#console')
if (root !== null) {
  startNavigation()
  startFleet()
  startNames()
  // Preact keeps the text of the page.
  root.replaceChildren()
  render(<App />, root)
}
