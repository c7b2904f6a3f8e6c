import { CopyButton } from './pieces.tsx'

/** A command to copy. `name` says in the name of its button what is copied. */
type CommandText = { readonly title: string; readonly name: string; readonly text: string }

/** Commands to copy, without a key, on demand. */
export const CommandTexts = ({
  title,
  commands,
}: {
  readonly title: string
  readonly commands: readonly CommandText[]
}) => (
  <details class="command">
    <summary>{title}</summary>
    {commands.map((command) => (
      <div key={command.title} class="command-text">
        <span class="command-name">
          {command.title} <CopyButton name={command.name} text={command.text} />
        </span>
        <pre>{command.text}</pre>
      </div>
    ))}
  </details>
)
