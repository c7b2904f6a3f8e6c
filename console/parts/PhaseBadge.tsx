import type { Phase } from '#console/state/row.ts'

// A phase has a word, a shape and a colour, so that nobody depends on colours.
const shapes: Record<Phase, string> = { Inactive: '○', Starting: '◐', Active: '●', Stopped: '■', Error: '▲' }

/** The phase of a world. */
export const PhaseBadge = ({ phase }: { readonly phase: Phase }) => (
  <span class={`badge phase-${phase.toLowerCase()}`}>
    <span aria-hidden="true">{shapes[phase]}</span> {phase}
  </span>
)
