import { Type } from 'typebox';
import { defineProtocol } from '../protocol.ts';
import type { TemplateSettings } from './settings.ts';
import { createTemplateRail } from './template-rail.ts';

export const TEMPLATE = defineProtocol({
  name: 'template',
  // Yours: the fields of an entry of the rails file besides the common ones. A secret is never one, only its file's name.
  fields: { api_key_file: Type.String({ minLength: 1 }) },
  read(entry, common, reader): TemplateSettings | null {
    // Yours: what the fields only name, read and checked now, because later it would look as if the bank did not answer.
    const what = `${common.name}: api_key_file`;
    const apiKey = reader.secret(entry.api_key_file, what);
    if (apiKey === null) return null;
    if (!/^[!-~]*$/.test(apiKey)) reader.fault(`${what} holds more than one word of printable ASCII`);
    return { ...common, apiKey };
  },
  open: createTemplateRail,
});
