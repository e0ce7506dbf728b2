import { startBank } from '../../apps/bank/src/server.ts';
import { createBiFastRail } from '../../apps/server/src/rails/bi-fast/bi-fast-rail.ts';
import type { BiFastSettings } from '../../apps/server/src/rails/bi-fast/settings.ts';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import { createSnapRail } from '../../apps/server/src/rails/snap/snap-rail.ts';
import type { WalletRoute } from '../../apps/server/src/rails/snap/wallets.ts';
import { partnerSettings } from '../bank/partner.ts';
import { rsaKeys } from '../support/rsa-keys.ts';

/** A route to the wallet that the simulated bank knows by this name (service 37). */
export const customerRoute = (productCode: string): WalletRoute => ({
  service: '37',
  path: '/v1.0/emoney/account-inquiry',
  amount: '10000.00',
  additionalInfo: { productCode },
  mobile: 'international',
});

const PARTICIPANT = 'GNESIDJA';

/** A simulated BI-FAST hub, and a rail to it that resolves aliases. */
export async function startAliasRail(
  changes: Partial<BiFastSettings> = {},
): Promise<{ readonly rail: Rail; close(): Promise<void> }> {
  const hub = await startBank({ ...partnerSettings(rsaKeys()), profile: 'bi-fast', partnerId: PARTICIPANT });
  const rail = createBiFastRail({
    name: 'bi-fast',
    baseUrl: `${hub.baseUrl}/bi-fast`,
    bic: PARTICIPANT,
    channel: '99',
    purpose: '99',
    enquiryAmount: '10000.00',
    amountMember: 'value',
    accountEnquiryPath: '',
    paymentStatusPath: '',
    aliases: { mobile: 'international' },
    banks: null,
    ...changes,
  });
  return { rail, close: () => hub.close() };
}

/** A rail to the simulated bank, which leads to banks and to these e-wallets. */
export async function startWalletRail(
  wallets: ReadonlyMap<string, WalletRoute>,
): Promise<{ readonly rail: Rail; close(): Promise<void> }> {
  const keys = rsaKeys();
  const settings = partnerSettings(keys);
  const bank = await startBank(settings);
  const { clientKey, clientSecret, partnerId, channelId } = settings;
  const rail = createSnapRail({
    name: 'simulated-bank',
    baseUrl: bank.baseUrl,
    clientKey,
    clientSecret,
    privateKey: keys.privateKey,
    partnerId,
    channelId,
    ownBank: 'CENAIDJA',
    banks: null,
    wallets,
  });
  return { rail, close: () => bank.close() };
}

/** Rails to the simulated bank, which leads to banks and to GoPay, and to a hub for aliases. */
export async function startWalletAndAliasRails(): Promise<{ readonly rails: readonly Rail[]; close(): Promise<void> }> {
  const snap = await startWalletRail(new Map([['GOPAY', customerRoute('GOPAY')]]));
  const aliases = await startAliasRail({ banks: new Set(['BIFAST']) });
  return {
    rails: [snap.rail, aliases.rail],
    async close() {
      await snap.close();
      await aliases.close();
    },
  };
}
