import { Type } from 'typebox';
import { defineProtocol } from '../protocol.ts';
import type { TemplateSettings } from './settings.ts';
import { createTemplateRail } from './template-rail.ts';

export const TEMPLATE = defineProtocol({
  name: 'template',
  // Yours: the fields of an entry of the rails file in addition to the common ones. For a secret, name its file.
  fields: { api_key_file: Type.String({ minLength: 1 }) },
  read(entry, common, reader): TemplateSettings | null {
    // Yours: read and check what the fields refer to. A fault that is found later looks like a bank that does not
    // reply.
    const field = `${common.name}: api_key_file`;
    const apiKey = reader.secret(entry.api_key_file, field);
    if (apiKey === null) return null;
    if (!/^[!-~]*$/.test(apiKey)) reader.fault(`${field} must contain one word of printable ASCII`);
    return { ...common, apiKey };
  },
  open: createTemplateRail,
});
