import { openApiDocument } from '#api/domain/endpoint/document.ts'
import { endpoints } from '#api/endpoints.ts'
import { renderClient } from './client/render.ts'
import { writeGenerated } from './generated.ts'

// `npm run client` writes client/operations.ts.
writeGenerated('npm run client', [['client/operations.ts', renderClient(openApiDocument(endpoints))]])
