import type { Commands } from '../commands.ts'
import { formatCount } from '../format.ts'
import type { Plan } from './plan.ts'

/** The most worlds in one command. Their ids fit in a URL, as a label selector of kubectl is sent. */
const maxIds = 200
/** Nothing else in an id could be taken for a part of the command. */
const idPattern = /^[\w-]+$/

/**
 * Returns the commands that do a whole plan, for bash or zsh. None contains a key: `$KEY` and `$API` are variables of the shell. A plan of
 * more than 200 worlds is cut, and a comment says so. `projectId` is empty for the scope of the organization.
 */
export const commandsForBulk = (plan: BulkCommand, projectId: string): Commands => {
  const ids = plan.ids.filter((id) => idPattern.test(id)).slice(0, maxIds)
  const rest = plan.ids.length - ids.length
  const cut = `The first ${formatCount(ids.length)} of ${formatCount(plan.ids.length, 'world')}. Repeat it for the other ${formatCount(rest)}.\n`
  return {
    curl: (rest === 0 ? '' : `# ${cut}`) + curlFor(plan, projectId, ids),
    kubectl: (rest === 0 ? '' : `# ${cut}`) + kubectlFor(plan, ids),
    TypeScript: (rest === 0 ? '' : `// ${cut}`) + typeScriptFor(plan, projectId, ids),
  }
}

type BulkCommand = Pick<Plan, 'kind' | 'organizationId' | 'ids'>
type Ids = readonly string[]

const curlFor = ({ kind, organizationId }: BulkCommand, projectId: string, ids: Ids): string =>
  [
    'curl -X POST',
    '-H "x-api-key: $KEY"',
    `-H "x-svc-organization-id: ${organizationId}"`,
    ...(projectId === '' ? [] : [`-H "x-svc-project-id: ${projectId}"`]),
    '-H "content-type: application/json"',
    `-d '${JSON.stringify({ action: kind, ids })}'`,
    '"$API/api/worlds/actions/"',
  ].join(' \\\n  ')

/** The most seconds until the API has taken a grant away. */
const waitSeconds = 60

/**
 * In the resource, only a change of the state starts a run. The API takes the grant away when it has read Stopped, and Running follows. A
 * start leaves worlds with a grant as they are: they were started meanwhile, unless their run failed.
 */
const kubectlFor = ({ kind }: BulkCommand, ids: Ids): string => {
  const selector = `-A -l 'orrery.dev/world-id in (${ids.join(',')})'`
  if (kind === 'delete') return `kubectl delete worlds ${selector}`
  const world = '-n "$NAMESPACE" "world/$NAME"'
  const patch = (state: string): string => `kubectl patch ${world} --type=merge -p '{"spec":{"state":"${state}"}}'`
  const isEnded = `[ -z "$(kubectl get ${world} -o jsonpath='{.spec.granted}')" ]`
  const steps = [
    ...(kind === 'start' ? [`[ "$RUN" = '<none>' ] || [ "$PHASE" = Error ] || continue`] : []),
    ...(kind === 'stop'
      ? [patch('Stopped')]
      : [
          `${patch('Stopped')} || continue`,
          `for TRY in $(seq ${waitSeconds}); do`,
          `  ${isEnded} && ${patch('Running')} && break`,
          '  sleep 1',
          'done',
        ]),
  ]
  const more = kind === 'start' ? [',:spec.granted.id,:status.phase', ' RUN PHASE'] : ['', '']
  const columns = `custom-columns=:metadata.namespace,:metadata.name${more[0]}`
  const body = steps.map((step) => `  ${step}`).join('\n')
  return `kubectl get worlds ${selector} --no-headers -o ${columns} |\nwhile read -r NAMESPACE NAME${more[1]}; do\n${body}\ndone`
}

const typeScriptFor = ({ kind, organizationId }: BulkCommand, projectId: string, ids: Ids): string => {
  const scope = `organizationId: '${organizationId}'${projectId === '' ? '' : `, projectId: '${projectId}'`}`
  const list = ids.map((id) => `'${id}'`).join(', ')
  return `const client = createClient({ baseUrl, apiKey, ${scope} })
const { results } = await client.actOnWorlds({ body: { action: '${kind}', ids: [${list}] } })`
}
