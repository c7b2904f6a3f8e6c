import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

type Response = { content?: Record<string, { schema: object }> }
type Operation = { responses: Record<string, Response> }
/** The parts of an OpenAPI document that responses are checked against. */
export type ApiDocument = { paths: Record<string, Record<string, Operation>>; components: { schemas: object } }

/** A request and its response. */
export type Exchange = { method: string; path: string; status: number; contentType: string; text: string }

const known = new Map<string, Promise<(exchange: Exchange) => void>>()

/**
 * Returns a check of an API's responses against the OpenAPI document that it serves: the status is documented for the
 * operation, and the body has the documented type and matches its schema. The check throws otherwise, so that the test
 * fails.
 */
export const documentedAt = (baseUrl: string): Promise<(exchange: Exchange) => void> => {
  const checker = known.get(baseUrl) ?? readDocument(baseUrl).then(createChecker)
  known.set(baseUrl, checker)
  // An API that did not answer may answer the next request.
  checker.catch(() => known.delete(baseUrl))
  return checker
}

/** Returns the OpenAPI document that an API serves. */
export const readDocument = async (baseUrl: string): Promise<ApiDocument> =>
  (await (await fetch(`${baseUrl}/api/openapi.json`)).json()) as ApiDocument

const pointed = (...steps: string[]): string =>
  steps.map((step) => `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

/**
 * Creates a check of values against the schema at a path in the document. It returns undefined if the value matches, or
 * the reason.
 */
export const createValidation = (document: ApiDocument) => {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addSchema(document, 'api')
  const validators = new Map<string, ValidateFunction>()
  return (steps: readonly string[], value: unknown): string | undefined => {
    const pointer = pointed(...steps)
    const validator = validators.get(pointer) ?? ajv.compile({ $ref: `api#${encodeURI(pointer)}` })
    validators.set(pointer, validator)
    return validator(value) ? undefined : ajv.errorsText(validator.errors)
  }
}

/** Creates a check of responses against one document. */
export const createChecker = (document: ApiDocument) => {
  const faultOf = createValidation(document)
  const templates = Object.keys(document.paths).map((template) => ({
    template,
    pattern: new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }))
  // A path without parameters takes precedence, as in the router.
  templates.sort((a, b) => Number(a.template.includes('{')) - Number(b.template.includes('{')))

  return ({ method, path, status, contentType, text }: Exchange): void => {
    const bare = path.split('?')[0] ?? ''
    const slashed = bare.endsWith('/') || !bare.startsWith('/api/') ? bare : `${bare}/`
    const found = templates.find(({ pattern }) => pattern.test(slashed))
    const verb = method.toLowerCase()
    const operation = found && document.paths[found.template]?.[verb]
    // Without an operation, the response is a 404 or 405, which no document lists.
    if (found === undefined || operation === undefined) return
    const answer = `${method} ${found.template} answered ${status}`
    const response = operation.responses[status]
    if (response === undefined) throw new Error(`${answer}, which is not documented: ${text.slice(0, 500)}`)
    const [type] = Object.keys(response.content ?? {})
    if (type === undefined) {
      if (text !== '') throw new Error(`${answer} with a body, and none is documented: ${text.slice(0, 500)}`)
      return
    }
    if (contentType.split(';')[0] !== type) throw new Error(`${answer} as "${contentType}", documented is ${type}`)
    const steps = ['paths', found.template, verb, 'responses', String(status), 'content', type, 'schema']
    const fault = faultOf(steps, JSON.parse(text))
    if (fault !== undefined) throw new Error(`${answer} with a body that is not as documented: ${fault}: ${text}`)
  }
}
