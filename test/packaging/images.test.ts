import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { packProductImages } from '#dev/images/image.ts'

const dir = mkdtempSync(join(tmpdir(), 'orrery-image-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

test('two builds of an image have the same digest, and its programs load all their libraries', async () => {
  const build = async (name: string) => (await packProductImages(join(dir, name), ['orrery'])).orrery
  const [first, second] = [await build('a'), await build('b')]
  const digest = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')
  expect(second.reference).toBe(first.reference)
  expect(digest(second.tarFile)).toBe(digest(first.tarFile))

  const [archive, root] = [join(dir, 'archive'), join(dir, 'root')]
  for (const path of [archive, root]) mkdirSync(path)
  execFileSync('tar', ['-xf', first.tarFile, '-C', archive])
  const [{ Config, Layers }] = JSON.parse(readFileSync(join(archive, 'manifest.json'), 'utf8'))
  for (const layer of Layers) execFileSync('tar', ['-xf', join(archive, layer), '-C', root])
  expect(JSON.parse(readFileSync(join(archive, Config), 'utf8')).config).toMatchObject({
    User: '65532:65532',
    Labels: { 'org.opencontainers.image.title': 'Orrery', 'org.opencontainers.image.licenses': 'Apache-2.0' },
  })
  const loader = join(root, 'lib64/ld-linux-x86-64.so.2')
  const inImage = (program: string) =>
    execFileSync(loader, ['--list', '--inhibit-cache', '--library-path', libraries, join(root, program)], {
      encoding: 'utf8',
    })
  const libraries = [...new Set(execFileSync('find', [root, '-name', '*.so*'], { encoding: 'utf8' }).split('\n'))]
    .filter(Boolean)
    .map(dirname)
    .join(':')
  const native = execFileSync('find', [root, '-name', '*.node', '-printf', '%P\n'], { encoding: 'utf8' }).trim()
  for (const program of ['opt/orrery/bin/node', ...native.split('\n')]) {
    for (const line of inImage(program)
      .split('\n')
      .filter((each) => each.includes('=>'))) {
      expect(line.split('=> ')[1]).toMatch(new RegExp(`^${root}/`))
    }
  }
}, 120_000)
