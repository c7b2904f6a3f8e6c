import { kindList, kinds } from '#shared/resources/group.ts'

/**
 * Fills in the kinds in a manifest of `dev/rbac` or `dev/admission`: `${kinds/status}` is a list of the plural names, each with the
 * suffix `/status`. A comma separates suffixes. `${kindNames}` is text: `World or BotDeployment`.
 */
export const withKinds = (text: string): string =>
  text
    .replaceAll(/\$\{kindNames\}/g, kindList.map((kind) => kinds[kind].kind).join(' or '))
    .replaceAll(/\$\{kinds([^}]*)\}/g, (_, suffixes: string) => {
      const names = kindList.flatMap((kind) => suffixes.split(',').map((suffix) => `'${kinds[kind].plural}${suffix}'`))
      return `[${names.join(', ')}]`
    })
