/* PolyBench nussinov: the best folding of an RNA sequence, by dynamic programming. */
static int max(int a, int b) { return a > b ? a : b; }

static int match(int left, int right) { return left + right == 3 ? 1 : 0; }

void nussinov(int seq[restrict N], int table[restrict N][N]) {
    for (int i = N - 1; i >= 0; i--)
        for (int j = i + 1; j < N; j++) {
            int best = table[i][j];
            if (j - 1 >= 0) best = max(best, table[i][j - 1]);
            if (i + 1 < N) best = max(best, table[i + 1][j]);
            if (j - 1 >= 0 && i + 1 < N) {
                if (i < j - 1)
                    best = max(best, table[i + 1][j - 1] + match(seq[i], seq[j]));
                else
                    best = max(best, table[i + 1][j - 1]);
            }
            for (int k = i + 1; k < j; k++) best = max(best, table[i][k] + table[k + 1][j]);
            table[i][j] = best;
        }
}
