/* Says whether the oneDNN provider is there. */
#include <stdio.h>
#include "tailor/onednn.h"

int main(void) {
  const tailor_product_provider* provider = tailor_onednn_product_provider();
  if (provider == NULL) return 1;
  puts("oneDNN is a provider");
  return 0;
}
