import { Type } from 'typebox';
import { AliasEntry, readAliases } from '../aliases.ts';
import { defineProtocol } from '../protocol.ts';
import { aliasFaults, PROFILE_FIELDS, readProfile } from './profile-fields.ts';
import type { SnapSettings } from './settings.ts';
import { createSnapRail } from './snap-rail.ts';
import { readWallets, WalletEntries } from './wallets.ts';

export const SNAP = defineProtocol({
  name: 'snap',
  reachesEWallets: true,
  reachesAliases: true,
  fields: {
    client_key: Type.String({ minLength: 1 }),
    client_secret_file: Type.String({ minLength: 1 }),
    private_key_file: Type.String({ minLength: 1 }),
    partner_id: Type.String({ minLength: 1, maxLength: 36 }),
    channel_id: Type.Optional(Type.String({ minLength: 1, maxLength: 5 })),
    own_bank: Type.Optional(Type.String()),
    ...PROFILE_FIELDS,
    wallets: Type.Optional(WalletEntries),
    aliases: Type.Optional(AliasEntry),
  },
  read(entry, common, reader): SnapSettings | null {
    const { name } = common;
    const clientSecret = reader.secret(entry.client_secret_file, `${name}: client_secret_file`);
    const privateKey = reader.privateKey(entry.private_key_file, `${name}: private_key_file`);
    const ownBank = entry.own_bank === undefined ? null : reader.bic(entry.own_bank, `${name}: own_bank`);
    const { profile, choices, faults } = readProfile(entry);
    const aliases = readAliases(entry.aliases, common, reader);
    if (aliases !== null) faults.push(...aliasFaults(profile, choices));
    const wallets = readWallets(entry.wallets ?? {}, common, profile, reader);
    // A parameter of inquiries about accounts and by alias is one fault.
    for (const fault of new Set(faults)) reader.fault(`${name}: ${fault}`);
    if (clientSecret === null || privateKey === null || faults.length > 0) return null;
    return {
      ...common,
      clientKey: entry.client_key,
      clientSecret,
      privateKey,
      partnerId: entry.partner_id,
      channelId: entry.channel_id ?? '',
      ownBank,
      profile,
      choices,
      wallets,
      aliases,
    };
  },
  open: createSnapRail,
});
