import 'banks-bff-picker';
import { createApp } from 'vue';
import Transfer from './Transfer.vue';

createApp(Transfer).mount('#app');
