/* PolyBench durbin: the Yule-Walker equations, by Levinson and Durbin's recursion. */
void durbin(float r[restrict N], float y[restrict N]) {
    float z[N];
    y[0] = -r[0];
    float beta = 1, alpha = -r[0];
    for (int k = 1; k < N; k++) {
        beta = (1 - alpha * alpha) * beta;
        float total = 0;
        for (int i = 0; i < k; i++) total += r[k - i - 1] * y[i];
        alpha = -(r[k] + total) / beta;
        for (int i = 0; i < k; i++) z[i] = y[i] + alpha * y[k - i - 1];
        for (int i = 0; i < k; i++) y[i] = z[i];
        y[k] = alpha;
    }
}
