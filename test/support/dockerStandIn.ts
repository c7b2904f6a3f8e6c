import { spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'

// Stands in for the docker command where there is no engine: it notes what it is asked, and answers as docker 28 does.
// Its k3s is a control plane that a test runs: the published port leads there, and so does kubectl in the container.
const [dir = '', ...args] = process.argv.slice(2)
const { kubeconfig, kubectl } = JSON.parse(readFileSync(join(dir, 'cluster.json'), 'utf8'))
const config = parse(readFileSync(kubeconfig, 'utf8'))
const server = new URL(config.clusters[0].cluster.server)
appendFileSync(join(dir, 'asked.jsonl'), `${JSON.stringify(args)}\n`)

const answer = (text: string): never => {
  process.stdout.write(`${text}\n`)
  process.exit(0)
}
const refuse = (text: string, code = 1): never => {
  process.stderr.write(`${text}\n`)
  process.exit(code)
}
const containerFile = (name = ''): string => join(dir, `container-${name}`)
const imageFile = (reference = ''): string => join(dir, `image-${reference.replaceAll('/', '_')}`)
const option = (name: string): string => args[args.indexOf(name) + 1] ?? ''

/** Stays in the foreground as `docker run` does, and passes a signal on to the container. */
const runContainer = (): void => {
  const file = containerFile(option('--name'))
  if (existsSync(file)) refuse(`docker: Error response from daemon: Conflict. The container name is in use.`, 125)
  const [address = '', port, inside] = option('--publish').split(':')
  if (inside !== '6443') refuse(`docker: k3s listens on 6443, not on ${inside}`, 125)
  const proxy = createServer((near) => {
    const far = connect(Number(server.port), server.hostname)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('error', () => to.destroy())
      from.pipe(to)
    }
  })
  proxy.listen(Number(port), address, () => writeFileSync(file, String(process.pid)))
  process.once('SIGTERM', () => {
    rmSync(file, { force: true })
    process.exit(0)
  })
}

const remove = (name: string): void => {
  if (!existsSync(containerFile(name))) answer(`Error response from daemon: No such container: ${name}`)
  process.kill(Number(readFileSync(containerFile(name), 'utf8')), 'SIGTERM')
  rmSync(containerFile(name), { force: true })
}

const execute = ([name = '', program = '', ...rest]: string[]): void => {
  if (!existsSync(containerFile(name))) refuse(`Error response from daemon: No such container: ${name}`)
  if (program === 'cat' && rest[0] === '/etc/rancher/k3s/k3s.yaml') {
    config.clusters[0].cluster.server = 'https://127.0.0.1:6443'
    answer(stringify(config))
  }
  if (program === 'ctr' && args[1] === '--interactive' && rest.at(-1) === '-') {
    writeFileSync(join(dir, 'imported.tar'), readFileSync(0))
    answer('unpacking orrery.dev/world-server ... done')
  }
  if (program !== 'kubectl') refuse(`exec: "${program}": executable file not found in $PATH`, 127)
  process.exit(spawnSync(kubectl, ['--kubeconfig', kubeconfig, ...rest], { stdio: 'inherit' }).status ?? 1)
}

const commands: Record<string, () => void> = {
  context: () => answer('unix:///var/run/docker.sock'),
  info: () => answer(`linux ${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}`),
  image: () => (existsSync(imageFile(args[2])) ? answer('[{}]') : refuse(`Error: No such image: ${args[2]}`)),
  pull: () => writeFileSync(imageFile(args[1]), ''),
  rm: () => remove(args.at(-1) ?? ''),
  volume: () => answer(args.slice(3).join('\n')),
  run: runContainer,
  exec: () => execute(args.slice(args[1] === '--interactive' ? 2 : 1)),
}
const command = commands[args[0] ?? '']
if (command === undefined) refuse(`docker: unknown command: docker ${args[0]}`)
else if (existsSync(join(dir, 'no-engine'))) {
  refuse('Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?')
} else command()
