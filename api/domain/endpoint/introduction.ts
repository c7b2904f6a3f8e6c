/** The introduction of the API reference, in Markdown. */
export const introduction = `Hosts virtual worlds on Kubernetes for many tenants.

## First steps

1. Create an organization (\`createOrganization\`), a project (\`createProject\`) and a world (\`createWorld\`).
2. Start the world (\`startWorld\`) and follow \`status.phase\` until it is Active. \`status.address\` is where players connect.
3. Stop it with \`stopWorld\`. \`listWorldDeployments\` shows every run with its end.

## Rules of all operations

- **Credential.** \`x-api-key\` carries an API key, \`Authorization: Bearer\` a user's token. Each operation names the kinds that it takes.
- **Scope.** \`x-svc-organization-id\` and \`x-svc-project-id\` name the scope. A resource of another scope is 404.
- **Errors** are problem documents (RFC 9457). \`code\` is for programs, and \`errors\` lists the validation errors with JSON Pointers.
- **Lists** are arrays, oldest first. \`?limit=\` is at most 1,000, and a page has at most 8 MiB; the next page is in the \`Link\` header.
- **PATCH.** An absent field stays. A supplied object replaces the previous one as a whole.
- **If-Match** guards a change, **If-None-Match** spares a read that changed nothing, and **Idempotency-Key** makes a create safe to repeat.

## Realtime

\`GET /api/realtime/connect/\` upgrades to a WebSocket on which a client follows documents and worlds. The messages are described
in AsyncAPI 3 at [/api/asyncapi.json](/api/asyncapi.json).`
