/* PolyBench trisolv: L x = b for a lower triangle L. */
void trisolv(float L[restrict N][N], float b[restrict N], float x[restrict N]) {
    for (int i = 0; i < N; i++) {
        x[i] = b[i];
        for (int j = 0; j < i; j++) x[i] -= L[i][j] * x[j];
        x[i] = x[i] / L[i][i];
    }
}
