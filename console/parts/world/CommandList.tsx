import { type CommandKind, commandsFor, type Edit } from '#console/state/commands.ts'
import { CommandTexts } from '../CommandTexts.tsx'
import type { PageState } from './page.ts'

const names: Readonly<Record<CommandKind, string>> = {
  start: 'Start',
  wake: 'Wake',
  stop: 'Stop',
  restart: 'Restart',
  edit: 'Edit',
  delete: 'Delete',
}

const textsFor = (kind: CommandKind, page: PageState, edit: Edit) =>
  Object.entries(commandsFor(kind, page, edit)).map(([language, text]) => {
    const what = edit.field === '' ? '' : ` ${edit.field}`
    return { title: `${names[kind]}${what} with ${language}`, name: `${kind}${what} with ${language}`, text }
  })

/** Edits and actions as commands to copy, without a key. */
export const CommandList = ({
  title,
  edits,
  kinds,
  page,
}: {
  readonly title: string
  readonly edits: readonly Edit[]
  readonly kinds: readonly CommandKind[]
  readonly page: PageState
}) => (
  <CommandTexts
    title={title}
    commands={[
      ...edits.flatMap((edit) => textsFor('edit', page, edit)),
      ...kinds.flatMap((kind) => textsFor(kind, page, { field: '' })),
    ]}
  />
)
