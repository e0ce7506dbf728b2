import { Type } from 'typebox';
import { AliasEntry, readAliases } from '../aliases.ts';
import { defineProtocol } from '../protocol.ts';
import { createBiFastRail } from './bi-fast-rail.ts';
import { AMOUNT_MEMBERS, type BiFastSettings, CHANNELS, PURPOSES } from './settings.ts';

const Path = Type.String({ pattern: '^(?:/[A-Za-z0-9._~-]+)*$' });

export const BI_FAST = defineProtocol({
  name: 'bi-fast',
  reachesAliases: true,
  fields: {
    bic: Type.String(),
    channel: Type.Optional(Type.Enum([...CHANNELS])),
    purpose: Type.Optional(Type.Enum([...PURPOSES])),
    enquiry_amount: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,15}\\.[0-9]{2}$' })),
    amount_member: Type.Optional(Type.Enum([...AMOUNT_MEMBERS])),
    account_enquiry_path: Type.Optional(Path),
    payment_status_path: Type.Optional(Path),
    aliases: Type.Optional(AliasEntry),
  },
  read(entry, common, reader): BiFastSettings | null {
    const bic = reader.bic(entry.bic, `${common.name}: bic`);
    const aliases = readAliases(entry.aliases, common, reader);
    if (bic === null) return null;
    return {
      ...common,
      bic,
      channel: entry.channel ?? '99',
      purpose: entry.purpose ?? '99',
      enquiryAmount: entry.enquiry_amount ?? '10000.00',
      amountMember: entry.amount_member ?? 'value',
      accountEnquiryPath: entry.account_enquiry_path ?? '',
      paymentStatusPath: entry.payment_status_path ?? '',
      aliases,
    };
  },
  open: createBiFastRail,
});
