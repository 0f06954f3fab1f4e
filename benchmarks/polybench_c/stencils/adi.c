/* PolyBench adi: heat in two dimensions by alternating-direction implicit steps. */
#define ACROSS(diffusion) ((float)(-(diffusion) * (1.0 / S) / ((1.0 / N) * (1.0 / N)) / 2.0))

void adi(float u[restrict N][N], float v[restrict N][N], float p[restrict N][N],
         float q[restrict N][N]) {
    const float a = ACROSS(2.0), d = ACROSS(1.0);
    for (int t = 0; t < S; t++) {
        for (int i = 1; i < N - 1; i++) {
            v[0][i] = 1;
            p[i][0] = 0;
            q[i][0] = v[0][i];
            v[N - 1][i] = 1;
        }
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++) {
                float below = a * p[i][j - 1] + (1 - 2 * a);
                p[i][j] = -a / below;
                float known = -d * u[j][i - 1] + (1 + 2 * d) * u[j][i] - d * u[j][i + 1];
                q[i][j] = (known - a * q[i][j - 1]) / below;
            }
        for (int i = 1; i < N - 1; i++)
            for (int j = N - 2; j >= 1; j--) v[j][i] = p[i][j] * v[j + 1][i] + q[i][j];
        for (int i = 1; i < N - 1; i++) {
            u[i][0] = 1;
            p[i][0] = 0;
            q[i][0] = u[i][0];
            u[i][N - 1] = 1;
        }
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++) {
                float below = d * p[i][j - 1] + (1 - 2 * d);
                p[i][j] = -d / below;
                float known = -a * v[i - 1][j] + (1 + 2 * a) * v[i][j] - a * v[i + 1][j];
                q[i][j] = (known - d * q[i][j - 1]) / below;
            }
        for (int i = 1; i < N - 1; i++)
            for (int j = N - 2; j >= 1; j--) u[i][j] = p[i][j] * u[i][j + 1] + q[i][j];
    }
}
