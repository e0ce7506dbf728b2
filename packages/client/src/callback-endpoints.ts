import { type Call, toCall } from './call.ts';
import type {
  CallbackDelivery,
  CallbackDeliveryList,
  CallbackDeliveryWithAttempts,
  CallbackEndpoint,
  CallbackEndpointChange,
  CallbackEndpointList,
  CallbackEndpointWithSecret,
  NewCallbackEndpoint,
  Operations,
  ReplayRequest,
  ReplayResult,
  RotatedSecret,
  TestCallback,
} from './generated/api.ts';
import type { CallOptions, Transport } from './transport.ts';

export type DeliveryFilter = Operations['listCallbackDeliveries']['query'];

export interface Callbacks {
  readonly callbackEndpoints: {
    /** The answer is the only one with the secret. Not repeated after a failure: look at `list` first. */
    register(endpoint: NewCallbackEndpoint, options?: CallOptions): Call<CallbackEndpointWithSecret>;
    list(options?: CallOptions): Call<CallbackEndpointList>;
    get(endpointId: string, options?: CallOptions): Call<CallbackEndpoint>;
    change(endpointId: string, change: CallbackEndpointChange, options?: CallOptions): Call<CallbackEndpoint>;
    /** Not repeated after a failure: a second rotation would end the secret before last at once. */
    rotateSecret(endpointId: string, options?: CallOptions): Call<RotatedSecret>;
    /** Sends one callback of type `endpoint.test` now. */
    test(endpointId: string, options?: CallOptions): Call<TestCallback>;
  };
  readonly callbackDeliveries: {
    /** Deliveries, those of the latest events first, page after page. */
    list(filter?: DeliveryFilter, options?: CallOptions): AsyncGenerator<CallbackDelivery, void, undefined>;
    page(filter?: DeliveryFilter, options?: CallOptions): Call<CallbackDeliveryList>;
    get(deliveryId: string, options?: CallOptions): Call<CallbackDeliveryWithAttempts>;
    /** Sends one callback again. */
    replay(deliveryId: string, options?: CallOptions): Call<CallbackDelivery>;
    /** Sends the callbacks of a time range again. While `has_more`, call it again with `after: next_after`. */
    replayRange(range: ReplayRequest, options?: CallOptions): Call<ReplayResult>;
  };
}

export function createCallbacks(transport: Transport): Callbacks {
  const page = (query?: DeliveryFilter, options?: CallOptions): Call<CallbackDeliveryList> =>
    toCall(transport.json({ operation: 'listCallbackDeliveries', query }, options));
  const endpoint = (endpointId: string) => ({ path: { endpoint_id: endpointId } });
  const delivery = (deliveryId: string) => ({ path: { delivery_id: deliveryId } });
  const json = JSON.stringify;

  return {
    callbackEndpoints: {
      register: (body, options) =>
        toCall(transport.json({ operation: 'registerCallbackEndpoint', body: json(body) }, options)),
      list: (options) => toCall(transport.json({ operation: 'listCallbackEndpoints' }, options)),
      get: (id, options) => toCall(transport.json({ operation: 'getCallbackEndpoint', ...endpoint(id) }, options)),
      change: (id, body, options) =>
        toCall(transport.json({ operation: 'changeCallbackEndpoint', ...endpoint(id), body: json(body) }, options)),
      rotateSecret: (id, options) =>
        toCall(transport.json({ operation: 'rotateCallbackSecret', ...endpoint(id) }, options)),
      test: (id, options) => toCall(transport.json({ operation: 'testCallbackEndpoint', ...endpoint(id) }, options)),
    },
    callbackDeliveries: {
      page,
      async *list(filter = {}, options) {
        for (let after = filter.after; ; ) {
          const found = await page({ ...filter, after }, options);
          yield* found.deliveries;
          if (!found.has_more || found.next_after === null) return;
          after = found.next_after;
        }
      },
      get: (id, options) => toCall(transport.json({ operation: 'getCallbackDelivery', ...delivery(id) }, options)),
      replay: (id, options) =>
        toCall(transport.json({ operation: 'replayCallbackDelivery', ...delivery(id) }, options)),
      replayRange: (body, options) =>
        toCall(transport.json({ operation: 'replayCallbackDeliveries', body: json(body) }, options)),
    },
  };
}
