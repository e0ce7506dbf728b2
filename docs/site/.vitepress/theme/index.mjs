import { useRoute } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import { nextTick, onMounted, watch } from 'vue';
import { fillInService } from './service.mjs';
import './style.css';

export default {
  extends: DefaultTheme,
  setup() {
    const route = useRoute();
    onMounted(fillInService);
    watch(
      () => route.path,
      () => nextTick(fillInService),
    );
  },
};
