import { type CommandKind, commandsFor } from '#console/state/commands.ts'
import { CopyButton } from '../pieces.tsx'
import type { PageState } from './page.ts'

const names: Readonly<Record<CommandKind, string>> = {
  start: 'Start',
  stop: 'Stop',
  restart: 'Restart',
  edit: 'Edit',
  delete: 'Delete',
}

/** Actions as commands to copy, without a key. `field` is the field of an edit. */
export const CommandList = ({
  title,
  kinds,
  page,
  field = '',
}: {
  readonly title: string
  readonly kinds: readonly CommandKind[]
  readonly page: PageState
  readonly field?: string
}) => (
  <details class="command">
    <summary>{title}</summary>
    {kinds.flatMap((kind) =>
      Object.entries(commandsFor(kind, page, field)).map(([language, text]) => (
        <div key={`${kind} ${language}`} class="command-text">
          <span class="command-name">
            {names[kind]} with {language} <CopyButton name={`${kind} with ${language}`} text={text} />
          </span>
          <pre>{text}</pre>
        </div>
      )),
    )}
  </details>
)
