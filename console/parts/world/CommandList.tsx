import { type CommandKind, commandsFor } from '#console/state/commands.ts'
import { CommandTexts } from '../CommandTexts.tsx'
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
  <CommandTexts
    title={title}
    commands={kinds.flatMap((kind) =>
      Object.entries(commandsFor(kind, page, field)).map(([language, text]) => ({
        title: `${names[kind]} with ${language}`,
        name: `${kind} with ${language}`,
        text,
      })),
    )}
  />
)
