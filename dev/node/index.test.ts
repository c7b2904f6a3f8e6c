import { expect, test } from 'vitest'
import { chooseNode } from './index.ts'

test('auto chooses the real node if nothing is missing, else the simulated one with the reason', () => {
  expect(chooseNode('auto', []).kind).toBe('containerd')
  const simulated = chooseNode('auto', ['these programs: apt-get install runc'])
  expect(simulated.kind).toBe('kwok')
  expect(simulated.why).toContain('no container runs')
  expect(simulated.why).toContain('apt-get install runc')
})

test('--node containerd is an error that lists everything that is missing', () => {
  expect(() => chooseNode('containerd', ['root', 'these programs: apt-get install runc'])).toThrow(
    '--node containerd: the real node needs root, and these programs: apt-get install runc.',
  )
})
