import { execFileSync, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { patience } from './wait.ts'

/** The greeting of a world server for a player: among others its world and run, and the address of the player as the server sees it. */
export type Greeting = Readonly<Record<string, unknown>>

/** An address of a world. */
export type PlayerAddress = { readonly host: string; readonly port: number; readonly protocol: 'TCP' | 'UDP' }

/** Prints a line for each answer. A UDP player with an interval in ms sends until it is killed, always from one port. */
const player = `
  const [protocol, host, port, everyMs] = process.argv.slice(1)
  const fail = (error) => process.exit(console.error(error.code ?? error.message) ?? 1)
  const print = (data) => console.log(String(data).split('\\n')[0]) ?? (everyMs || process.exit(0))
  if (protocol === 'TCP') {
    require('node:net').connect(port, host).on('data', print).on('error', fail)
  } else {
    const socket = require('node:dgram').createSocket('udp4').on('message', print)
    // A refused datagram is an error of a connected socket alone.
    if (everyMs) setInterval(() => socket.send('?', port, host), everyMs)
    else socket.on('error', fail).connect(port, host, () => socket.send('?'))
  }`

/**
 * Adds a machine beside this one: a network namespace with an address of its own, whose only neighbour is this machine. One at a
 * time. Needs root.
 */
export const addMachine = () => {
  const [name, outside, inside] = ['orrery-other', 'orr-out', 'orr-in']
  // 198.51.100.0/24 is reserved for such uses (RFC 5737).
  const [gateway, address] = ['198.51.100.1', '198.51.100.2']
  const ip = (line: string): string => execFileSync('ip', line.split(' '), { encoding: 'utf8' })
  ip(`netns add ${name}`)
  ip(`link add ${outside} type veth peer name ${inside} netns ${name}`)
  ip(`address add ${gateway}/24 dev ${outside}`)
  ip(`link set ${outside} up`)
  ip(`-n ${name} address add ${address}/24 dev ${inside}`)
  ip(`-n ${name} link set ${inside} up`)
  ip(`-n ${name} route add default via ${gateway}`)

  const command = ({ protocol, host, port }: PlayerAddress, ...rest: string[]): string[] => [
    ...['netns', 'exec', name, process.execPath, '-e', player, protocol, host, String(port)],
    ...rest,
  ]
  return {
    address,
    /** Returns the greeting of a server. Throws with the code of the error, such as ECONNREFUSED, if there is none. */
    greet: (at: PlayerAddress): Greeting =>
      JSON.parse(execFileSync('ip', command(at), { encoding: 'utf8', timeout: 10_000 * patience, stdio: 'pipe' })),
    /** Sends datagrams from one port until `stop`. `answers` has all greetings so far. */
    keepSending: ({ host, port }: Omit<PlayerAddress, 'protocol'>): { answers: Greeting[]; stop: () => void } => {
      const child = spawn('ip', command({ protocol: 'UDP', host, port }, '20'), {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const answers: Greeting[] = []
      createInterface(child.stdout).on('line', (line) => answers.push(JSON.parse(line)))
      return { answers, stop: () => void child.kill() }
    },
    /** Removes the machine. */
    remove: (): void => {
      ip(`netns delete ${name}`)
    },
  }
}
