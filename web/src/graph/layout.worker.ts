import { place, type LayoutRequest } from './layers';

self.onmessage = (event: MessageEvent<LayoutRequest>) => {
  self.postMessage(place(event.data));
};
