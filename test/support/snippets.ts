import { readFileSync } from 'node:fs'

/** The languages that the snippets test runs. */
export const runnableLanguages = ['bash', 'js', 'ts'] as const

/** The language of a block that is not a program. */
const plainLanguage = 'text'

/** All snippets of one language in a page, in their order. A later snippet can use what an earlier one declares. */
export type PageProgram = { readonly page: string; readonly language: string; readonly snippets: readonly string[] }

/**
 * Returns the programs of a page, by language. Throws an Error for a block of a language that no test runs, so that every
 * block is either run or marked as `text`.
 */
export const readPrograms = (page: string): PageProgram[] => {
  const blocks = [...readFileSync(page, 'utf8').matchAll(/^ *```(.*)\n([\s\S]*?)^ *```$/gm)].map(
    ([, language = '', code = '']) => ({ language, code }),
  )
  const languages: readonly string[] = runnableLanguages
  const unknown = blocks.find(({ language }) => language !== plainLanguage && !languages.includes(language))
  if (unknown) {
    const choices = [...languages, plainLanguage].join(', ')
    throw new Error(`${page} has a block with the language '${unknown.language}'. Use ${choices}.\n${unknown.code}`)
  }
  return languages
    .map((language) => ({
      page,
      language,
      snippets: blocks.filter((block) => block.language === language).map(({ code }) => code),
    }))
    .filter(({ snippets }) => snippets.length > 0)
}
