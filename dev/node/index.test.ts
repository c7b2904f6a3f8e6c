import { expect, test } from 'vitest'
import { chooseNode } from './index.ts'

test('auto takes the real node where nothing is missing, and the simulation, with the reason, elsewhere', () => {
  expect(chooseNode('auto', []).kind).toBe('containerd')
  const simulated = chooseNode('auto', ['these programs: apt-get install runc'])
  expect(simulated.kind).toBe('kwok')
  expect(simulated.why).toContain('no container runs')
  expect(simulated.why).toContain('apt-get install runc')
})

test('the real node, asked for by name, is refused with everything that is missing', () => {
  expect(() => chooseNode('containerd', ['root', 'these programs: apt-get install runc'])).toThrow(
    '--node containerd: the real node needs root, and these programs: apt-get install runc.',
  )
})
