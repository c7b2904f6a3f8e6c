import type { PatchWorld, World } from '#client/operations.ts'
import { type Commands, commandsFor } from '../commands.ts'
import { escapeInvisible } from './forms.ts'

/** The longest body in a command, in characters. */
const maxBodyLength = 8_000

/**
 * Returns the commands that send a PATCH if the world still has an entity tag, without a key. A body that is too long is left out.
 * With kubectl it is an edit by hand.
 */
export const patchCommands = (
  { organizationId, projectId, documentId: worldId }: Pick<World, 'organizationId' | 'projectId' | 'documentId'>,
  patch: PatchWorld,
  etag: string,
): Commands => {
  const { curl, kubectl, TypeScript } = commandsFor('edit', { organizationId, projectId, worldId })
  const json = escapeInvisible(JSON.stringify(patch))
  const body = json.length > maxBodyLength ? '{ … }' : json
  const quoted = (text: string): string => text.replaceAll("'", String.raw`'\''`)
  return {
    curl: curl.replace("-d '{ … }'", () => `-H 'if-match: ${quoted(etag)}' \\\n  -d '${quoted(body)}'`),
    kubectl,
    TypeScript: TypeScript.replace(
      'body: { … }',
      () => `headers: { 'if-match': ${JSON.stringify(etag)} }, body: ${body}`,
    ),
  }
}
